"""What is said of a name that nobody knows."""

from assay.infra.errors import nearest, suggestion


def test_capitals_and_underscores_do_not_hide_what_was_meant() -> None:
    assert nearest("ResNet_50", ["resnet50", "resnet101", "vgg19"]) == "resnet50"


def test_words_that_are_equally_close_are_all_named() -> None:
    assert suggestion("xu-pgd-3", ["pgd", "xu-pgd-2", "xu-pgd-4", "xu-gap-7"]) == "did you mean xu-pgd-4 or xu-pgd-2?"


def test_a_long_list_of_names_is_cut_and_says_so() -> None:
    assert suggestion("zzz", [f"name-{n}" for n in range(45)]).endswith("name-39 and 5 more")
