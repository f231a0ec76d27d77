"""The completion scripts of bash, zsh and fish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from qkv import __version__
from qkv.cli.completion import Option, Values, Words

All = Mapping[str, Words]
HEAD = "Completion of qkv {version} for {shell}, written by `qkv completion {shell}`"

# bash ------------------------------------------------------------------------------------------------

BASH = """\
# {head}
_qkv_next() {{
  case "$1" in
{next}
  esac
}}
_qkv_options() {{
  case "$1" in
{options}
  esac
}}
_qkv_values() {{
  case "$1" in
{values}
    *" -"*) echo @text ;;
  esac
}}
_qkv_offer() {{
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@")
}}
_qkv() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command="" word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    if [[ $word == -* || ${{COMP_WORDS[i - 1]}} == --config ]]; then continue; fi
    if [[ -n $command ]]; then command="$command $word"; break; fi
    command="$word"
    if [[ $command != train && $command != memory ]]; then break; fi
  done
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $previous == "=" ]]; then
    previous="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
  local values="" next=""
  if [[ $previous == -* ]]; then values="$(_qkv_values "$command $previous")"; fi
  next="$(_qkv_next "$command")"
  if [[ $values == @text ]]; then
    return
  elif [[ $values == @folders ]]; then
    compopt -o filenames 2>/dev/null
    _qkv_offer -d -- "$current"
  elif [[ -n $values && $values != @* ]]; then
    _qkv_offer -W "$values" -- "$current"
  elif [[ $current == -* ]]; then
    _qkv_offer -W "$(_qkv_options "$command")" -- "$current"
  elif [[ -n $next && $values != @files ]]; then
    _qkv_offer -W "$next" -- "$current"
  else
    compopt -o filenames 2>/dev/null
    _qkv_offer -f -- "$current"
  fi
}}
complete -F _qkv qkv
"""


def bash(words: All) -> str:
    return BASH.format(
        head=head("bash"),
        next="\n".join(
            f'    "{name}") echo "{" ".join(each.next)}" ;;' for name, each in words.items() if each.next
        ),
        options="\n".join(
            f'    "{name}") echo "{" ".join(flags_of(each))}" ;;'
            for name, each in words.items()
            if each.options
        ),
        values="\n".join(bash_values(words)),
    )


def bash_values(words: All) -> Iterator[str]:
    """What follows a flag. A flag that is not listed takes a text."""
    for name, each in words.items():
        by_values: dict[Values, list[str]] = {}
        for option in each.options:
            if option.values != "text":
                by_values.setdefault(option.values, []).extend(option.names)
        for values, flags in by_values.items():
            pattern = "|".join(f'"{name} {flag}"' for flag in flags)
            shown = "" if values == "none" else f"@{values}" if isinstance(values, str) else " ".join(values)
            yield f'    {pattern}) echo "{shown}" ;;'


# zsh -------------------------------------------------------------------------------------------------

ZSH = """\
#compdef qkv
# {head}
_qkv() {{
  local command="" word i previous="${{words[CURRENT - 1]}}" values=""
  local -a next options
  for ((i = 2; i < CURRENT; i++)); do
    word="${{words[i]}}"
    if [[ $word == -* || ${{words[i - 1]}} == --config ]]; then continue; fi
    if [[ -n $command ]]; then command="$command $word"; break; fi
    command="$word"
    if [[ $command != train && $command != memory ]]; then break; fi
  done
  if [[ ${{words[CURRENT]}} == --*=* ]]; then
    previous="${{words[CURRENT]%%=*}}"
    compset -P '*='
  fi
  case "$command" in
{commands}
  esac
  if [[ $previous == -* ]]; then
    case "$command $previous" in
{values}
      *) values=@text ;;
    esac
  fi
  if [[ $values == @text ]]; then
    _message 'a value'
  elif [[ $values == @folders ]]; then
    _files -/
  elif [[ -n $values && $values != @* ]]; then
    compadd -- ${{=values}}
  elif [[ ${{words[CURRENT]}} == -* && $values != @files ]]; then
    _describe -o option options
  elif (( $#next )) && [[ $values != @files ]]; then
    _describe command next
  else
    _files
  fi
}}
if [[ $funcstack[1] == _qkv ]]; then _qkv "$@"; else compdef _qkv qkv; fi
"""


def zsh(words: All) -> str:
    return ZSH.format(
        head=head("zsh"),
        commands="\n".join(zsh_commands(words)),
        values="\n".join(
            line.replace("    ", "      ", 1).replace("echo ", "values=") for line in bash_values(words)
        ),
    )


def zsh_commands(words: All) -> Iterator[str]:
    for name, each in words.items():
        yield f'    "{name}")'
        if each.next:
            yield f"      next=({' '.join(described(word, text) for word, text in each.next.items())})"
        shown = [described(flag, option.summary) for option in each.options for flag in option.names]
        yield f"      options=({' '.join(shown)}) ;;"


def described(word: str, text: str) -> str:
    return quoted(f"{word}:{text}")


# fish ------------------------------------------------------------------------------------------------

FISH = """\
# {head}
function __qkv_is
    set -l found
    set -l previous
    for token in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $token; and test "$previous" != --config
            set -a found $token
            if test (count $found) -eq 2; or not contains $found[1] train memory
                break
            end
        end
        set previous $token
    end
    test "$found" = "$argv"
end
{lines}
"""


def fish(words: All) -> str:
    return FISH.format(head=head("fish"), lines="\n".join(fish_lines(words)))


def fish_lines(words: All) -> Iterator[str]:
    for name, each in words.items():
        here = f"complete -c qkv -n '__qkv_is {name}'"
        for word, text in (each.next or {}).items():
            yield f"{here} -f -a {word} -d {quoted(text)}"
        for option in each.options:
            yield f"{here} {fish_option(option)}"


def fish_option(option: Option) -> str:
    names = " ".join(
        f"-l {name.removeprefix('--')}" if name.startswith("--") else f"-s {name.removeprefix('-')}"
        for name in option.names
    )
    values = {
        "none": "",
        "files": " -r -F",
        "folders": " -x -a '(__fish_complete_directories)'",
        "text": " -x",
    }
    follows = (
        values[option.values]
        if isinstance(option.values, str)
        else f" -x -a {quoted(' '.join(option.values))}"
    )
    return f"{names}{follows} -d {quoted(option.summary)}"


# All ---------------------------------------------------------------------------------------------------


def head(shell: str) -> str:
    return HEAD.format(version=__version__, shell=shell)


def flags_of(words: Words) -> list[str]:
    return [name for option in words.options for name in option.names]


def quoted(text: str) -> str:
    """In single quotes, which every shell reads in the same way if the text has none."""
    return "'" + text.replace("'", "’").replace("\\", "") + "'"


SCRIPTS: dict[str, Callable[[All], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
