from brittlestar.policies.zoo import cards as zoo

NAMES = list(zoo.recipes())
SHIPPED = [name for name in NAMES if zoo.is_shipped(name)]


def test_only_recipes_are_shipped():
    assert {path.name for path in zoo.HOME.iterdir() if (path / zoo.CARD).is_file()} == set(SHIPPED)
