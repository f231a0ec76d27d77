"""Marian in a process of its own, which may belong to another environment: a line of JSON in, one out.

Started with the flags of `pymarian decode`. It reads a list of sentences per line, and answers with the number of words of
each translation.
"""

import json
import sys

from pymarian import Translator

translator = Translator(" ".join(sys.argv[1:]))
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps([len(each.split()) for each in translator.translate(json.loads(line))]), flush=True)
