import pytest


@pytest.fixture(autouse=True)
def _one_thread():
    """Networks this small only wait for each other on two threads, most of all beside other work."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
