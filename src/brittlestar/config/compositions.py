"""The overrides that compose several options of a group into one."""

from collections.abc import Sequence

from brittlestar.config.yaml_files import config_folder


def compose_words(group: str, options: Sequence[str]) -> list[str]:
    """Returns the overrides that apply options of a group in this order; each part is named after its option.

    Example:
        >>> compose_words("mitigation", ["low_pass", "low_pass"])[-1]
        '+mitigation@mitigation.parts.low_pass_2=low_pass'
    """
    import yaml  # type: ignore[import-untyped]

    defaults = yaml.safe_load((config_folder() / group / "compose.yaml").read_text())["parts"]
    words = [f"{group}=compose", *(f"~{group}.parts.{name}" for name in defaults)]
    for place, option in enumerate(options):
        # A repeated option gets a number in its name.
        count = options[:place].count(option)
        words.append(f"+{group}@{group}.parts.{option}{f'_{count + 1}' if count else ''}={option}")
    return words
