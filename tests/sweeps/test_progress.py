import io

from brittlestar.sweeps.progress import LiveLine, Progress, clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_live_line():
    stream = Terminal()
    with Progress(3, stream) as progress:
        progress.running = 2
        progress.add("done", 50)
        progress.add("failed", 50)
        assert "2/3 cells: 1 done, 1 failed, 0 cached, 1 running" in progress.line()
        assert "episodes/s" in progress.line()
        assert "left" in progress.line()
    assert stream.getvalue().startswith("\r")
    assert stream.getvalue().endswith("\n")


def test_a_log_file_gets_whole_lines():
    stream = io.StringIO()
    with Progress(1, stream) as progress:
        progress.add("cached", 50)
    assert stream.getvalue() == "1/1 cells: 0 done, 0 failed, 1 cached, 0 running\n"


def test_durations_are_written_as_a_clock():
    assert [clock(s) for s in (5, 65, 3700)] == ["0:05", "1:05", "1:01:40"]


def test_a_live_line_is_rewritten_and_removed():
    stream = Terminal()
    line = LiveLine(stream)
    assert line.is_due
    line.draw("one")
    assert not line.is_due
    line.close(clear=True)
    assert stream.getvalue() == "\r\x1b[2Kone\r\x1b[2K"


def test_a_stream_that_is_no_terminal_gets_no_line_unless_asked():
    assert not LiveLine(io.StringIO()).is_due
    assert LiveLine(io.StringIO(), log_seconds=0).is_due
    assert not LiveLine(Terminal(), live=False).live
