import subprocess
import sys

# Functions that are registered with atexit run when the program ends: then the thread still imports.
ENDING = """
import atexit, threading, time
from brittlestar.reports.preload import prepare_report

def import_late():
    time.sleep(0.5)
    prepare_report()

thread = threading.Thread(target=import_late, daemon=True)
atexit.register(thread.join)
thread.start()
"""


def test_a_program_that_ends_while_modules_are_imported_prints_nothing():
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True)
    assert done.stderr == ""
