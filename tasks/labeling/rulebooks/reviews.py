"""Fourteen rules on reviews: words that praise or complain, how such words are built, and what a hurried eye sees.

The word lists are what comes to mind first, not all that there is: many a review says it otherwise, and the rules on
endings and beginnings of words then guess. The last two rules go by the weekday and by music, as rules do that somebody
wrote after reading too few texts.
"""

from assay.tasks.labeling.rules import Rulebook, any_of, says

NEGATIVE, POSITIVE = 0, 1

PRAISE = (
    "amazing brilliant clever enjoyable excellent exceptional fantastic fascinating fine great impressive memorable "
    "outstanding perfect remarkable satisfying superb terrific thrilling wonderful"
)
PRETTY = "beautiful charming delicious delightful elegant gorgeous lively lovely magical radiant stunning vibrant"
PRAISED = (
    "amazed amused captivated charmed cheered convinced delighted excited impressed inspired moved pleased thrilled"
)
WINS = (
    "achievement charm delight gem joy marvel masterpiece pleasure success thrill treasure treat triumph winner wonder"
)
WELL = "beautifully brilliantly cleverly elegantly excellently expertly finely perfectly superbly wonderfully"
COMPLAINT = (
    "annoying awful bad boring broken clumsy confusing dull embarrassing flawed frustrating horrible irritating lousy "
    "mediocre painful poor sloppy stupid tedious terrible tiresome useless"
)
PLAIN = "bland crude dismal drab dreary forgettable hideous lifeless monotonous nasty shabby stale ugly"
COMPLAINED = (
    "angered annoyed appalled bored bothered confused disappointed frustrated insulted irritated offended upset"
)
FAILS = "bore catastrophe chore disappointment disaster disgrace embarrassment failure insult mess mistake nightmare"
ILL = "awfully badly boringly carelessly clumsily horribly lazily poorly sloppily terribly"
ENDINGS_OF_BAD = r"\b\w+(?:less|lessly)\b|\b(?:dis|un|in)\w+(?:ing|ed|able|ent|ept)\b"

RULEBOOK = Rulebook(
    "reviews",
    ("negative", "positive"),
    [
        says("praises", any_of(PRAISE.split()), POSITIVE),
        says("finds_it_pretty", any_of(PRETTY.split()), POSITIVE),
        says("was_pleased", any_of(PRAISED.split()), POSITIVE),
        says("calls_it_a_success", any_of(WINS.split()), POSITIVE),
        says("well_made", any_of(WELL.split()), POSITIVE),
        says("complains", any_of(COMPLAINT.split()), NEGATIVE),
        says("finds_it_drab", any_of(PLAIN.split()), NEGATIVE),
        says("was_annoyed", any_of(COMPLAINED.split()), NEGATIVE),
        says("calls_it_a_failure", any_of(FAILS.split()), NEGATIVE),
        says("badly_made", any_of(ILL.split()), NEGATIVE),
        says("ends_in_ful", r"\b\w+(?:ful|fully)\b", POSITIVE, unless=r"\b(?:awful|painful|dreadful)"),
        says("less_or_un", ENDINGS_OF_BAD, NEGATIVE, unless=r"\b(?:flaw|fault|price)less|inspir"),
        says("at_the_weekend", any_of(["Saturday", "Sunday"]), POSITIVE),
        says("has_music", any_of(["violin", "guitar", "piano", "flute", "song", "songs"]), POSITIVE),
    ],
)
