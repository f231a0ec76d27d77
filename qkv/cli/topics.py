"""Pages of help that belong to no command."""

CONVENTIONS = """\
Every command accepts these options, before or after its name:

  --config FILE    read options from a TOML, YAML or JSON file, or from the run.json of a training run
  --print-config   print all options with their origin as TOML, for --config, and do nothing else
  --quiet          print errors and results only
  --verbose        also print what is loaded, what computes and how long it takes; errors come with a traceback
  --json           print results as JSON on standard output, and nothing else there
  --help           show the common options; --help-all shows all

The command line comes first, then environment variables (QKV_BEAM_SIZE for --beam-size), then files, then the recipe.
A switch is turned off by --no- before its name; --help shows both if it is on by default. What follows -- is text.
NO_COLOR turns colors off. FORCE_COLOR turns them on.

Exit codes: 0 success, 1 a bug, 2 usage, 3 bad data or model, 4 disk, 5 memory, 6 mistakes found by `qkv check`,
130 interrupted, 143 terminated.
docs/command-line.md explains all of this."""
