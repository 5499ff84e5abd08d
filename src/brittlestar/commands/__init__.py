"""The command lines: one module each."""

import sys

from brittlestar.commands.interruption import answer_signals, is_own_process

# Before the imports of a command, which take longer than it takes to press Ctrl-C.
if sys.argv and is_own_process(sys.argv[0]):
    answer_signals()
