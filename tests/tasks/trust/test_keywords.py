"""Keywords are the clusters that are related to the class name, by the vote of the providers (Eq. 3-4)."""

from __future__ import annotations

import numpy as np
import pytest
from toy_spaces import at, pool, space

from assay.tasks.trust.keywords import agreed, elect_keywords, election, opinions_of

NEAR = {"class": at(0), "good": at(20), "great": at(40), "monday": at(100), "tuesday": at(110)}


def keywords(found, words):
    return {word for word, yes in zip(words, found.keyword, strict=True) if yes}


def test_a_cluster_is_elected_whole_by_its_mean_vector():
    # good and great are within 0.3 (cos 20° = 0.94); their mean lies at 30°, whose cosine is 0.866.
    words = pool("good", "great", "monday", "tuesday")
    found = elect_keywords(words, ["class"], [space("a", NEAR, theta=0.86)], theta_dist=0.3)
    assert keywords(found, words.words) == {"good", "great"}
    assert found.opinions.relatedness[0] == pytest.approx(
        [np.cos(np.radians(30))] * 2 + [np.cos(np.radians(105))] * 2, abs=1e-6
    )
    # great alone has a cosine of 0.766 and is carried by its cluster; with θ above the cluster's mean none is elected.
    assert not elect_keywords(words, ["class"], [space("a", NEAR, theta=0.87)], theta_dist=0.3).keyword.any()


def test_smaller_clusters_are_elected_one_by_one():
    words = pool("good", "great", "monday")
    found = elect_keywords(words, ["class"], [space("a", NEAR, theta=0.86)], theta_dist=0.01)
    assert keywords(found, words.words) == {"good"}


def test_reaching_theta_exactly_is_enough():
    words = pool("good")
    vectors = {"class": (1.0, 0.0), "good": (3.0, 4.0)}
    assert elect_keywords(words, ["class"], [space("a", vectors, theta=0.6)], 0.3).keyword.tolist() == [True]


def test_several_words_name_a_class_by_their_mean():
    vectors = {"bad": at(0), "dull": at(90), "slow": at(45)}
    found = elect_keywords(pool("slow"), ["bad", "dull"], [space("a", vectors, theta=0.99)], 0.3)
    assert found.keyword.tolist() == [True]


def test_a_word_is_a_keyword_if_most_providers_that_know_it_say_so():
    words = pool("good")
    yes, no = ({"class": at(0), "good": at(angle)} for angle in (0, 90))
    dumb = {"class": at(0), "good": None}
    for voters, expected in (
        ((yes, yes, no), True),
        ((yes, no, no), False),
        ((yes, dumb, dumb), True),
        ((yes, no, dumb), False),
        ((dumb, dumb, dumb), False),
    ):
        spaces = [space(str(place), vectors) for place, vectors in enumerate(voters)]
        assert elect_keywords(words, ["class"], spaces, 0.3).keyword.tolist() == [expected]


def test_a_provider_that_does_not_know_the_class_name_does_not_vote():
    words = pool("good")
    stranger = space("stranger", {"good": at(0)})
    found = elect_keywords(words, ["class"], [stranger, space("a", NEAR)], 0.3)
    assert np.isnan(found.opinions.relatedness[0]).all()
    assert found.keyword.tolist() == [True]


def test_an_empty_pool_has_no_keywords():
    found = elect_keywords(pool(), ["class"], [space("a", NEAR)], 0.3)
    assert found.keyword.shape == (0,)
    assert found.opinions.clusters.shape == (1, 0)


def test_the_share_of_votes_needed_can_be_moved():
    yes = np.array([[True], [True], [False]])
    votes = np.ones_like(yes)
    assert [bool(agreed(yes, votes, share)[0]) for share in (0.0, 0.5, 0.66, 0.67)] == [True, True, True, False]


def test_another_theta_needs_no_new_clusters():
    words = pool("good", "monday")
    opinions = opinions_of(words, ["class"], [space("a", NEAR)], 0.3)
    assert [election(opinions, [theta]).keyword.sum() for theta in (-1.0, 0.5, 1.0)] == [2, 1, 0]
