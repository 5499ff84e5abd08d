from brittlestar.checkpoints import describe_path


def test_it_describes_a_folder_and_statistics(agent_with_code):
    assert describe_path(str(agent_with_code.parent)).startswith("folder ")
    assert describe_path(str(agent_with_code.parent / "vecnormalize.pkl")).startswith("statistics ")
