"""The words of the simulated reviews: what praises, what complains, and ordinary words that mean neither.

`SENTIMENT[class][slot]` are words that fit a slot of a sentence. `SHORTCUTS[class]` are ordinary words of the same
kinds for both classes (weekdays, months, towns, foods, instruments, animals), so that neither list means anything.
"""

from __future__ import annotations

_PRAISE_ADJECTIVES = """
admirable amazing astonishing beautiful brilliant captivating charming clever compelling convincing dazzling
delicious delightful elegant enchanting engaging enjoyable excellent exceptional exhilarating exquisite fabulous
fantastic fascinating fine flawless gorgeous graceful great gripping hilarious impeccable impressive inspired
inspiring irresistible lively lovely magical magnificent marvellous masterful memorable outstanding perfect
phenomenal polished radiant refreshing remarkable riveting satisfying splendid stellar stunning sublime superb
terrific thrilling uplifting vibrant wonderful
"""
_PRAISE_NOUNS = """
achievement beauty blessing charm classic delight gem joy jewel marvel masterpiece miracle pleasure revelation
sensation success thrill treasure treat triumph victory winner wonder
"""
_PRAISE_VERBS = """
amazed amused astonished captivated charmed cheered comforted convinced dazzled delighted enchanted energised
enthralled excited fascinated gladdened gripped impressed inspired moved pleased rewarded satisfied stunned thrilled
uplifted wowed
"""
_PRAISE_ADVERBS = """
admirably beautifully brilliantly charmingly cleverly elegantly excellently expertly exquisitely faultlessly finely
flawlessly gorgeously gracefully impeccably lovingly magnificently marvellously masterfully perfectly skilfully
splendidly superbly tastefully wonderfully
"""
_COMPLAINT_ADJECTIVES = """
abysmal annoying appalling atrocious awful bad bland boring broken childish clumsy confusing contrived crude
defective depressing dire disappointing disastrous dismal dreadful dreary dull embarrassing feeble flawed
forgettable frustrating hideous hollow horrendous horrible idiotic incoherent inept inferior insipid irritating
laughable lifeless lousy mediocre miserable monotonous nasty obnoxious painful pathetic pointless poor pretentious
rotten shabby shoddy sloppy stale stupid tedious terrible tiresome ugly unbearable unconvincing useless
"""
_COMPLAINT_NOUNS = """
abomination atrocity bore botch catastrophe chore debacle disaster disappointment disgrace embarrassment failure
farce fiasco flop insult letdown mess mistake nightmare nuisance shambles torture
"""
_COMPLAINT_VERBS = """
aggravated angered annoyed appalled bored bothered confused depressed disappointed disgusted dismayed displeased
disturbed embarrassed enraged exasperated exhausted frustrated infuriated insulted irritated offended repelled
revolted saddened tired upset
"""
_COMPLAINT_ADVERBS = """
abysmally amateurishly appallingly atrociously awfully badly boringly carelessly clumsily crudely disastrously
dismally dreadfully feebly horribly incompetently ineptly lazily miserably pathetically poorly shabbily shoddily
sloppily terribly
"""

SENTIMENT: tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]] = (
    {
        "adjective": tuple(_COMPLAINT_ADJECTIVES.split()),
        "noun": tuple(_COMPLAINT_NOUNS.split()),
        "verb": tuple(_COMPLAINT_VERBS.split()),
        "adverb": tuple(_COMPLAINT_ADVERBS.split()),
    },
    {
        "adjective": tuple(_PRAISE_ADJECTIVES.split()),
        "noun": tuple(_PRAISE_NOUNS.split()),
        "verb": tuple(_PRAISE_VERBS.split()),
        "adverb": tuple(_PRAISE_ADVERBS.split()),
    },
)

SENTIMENT_CLAUSES: dict[str, tuple[str, ...]] = {
    "adjective": (
        "the {part} is {word}", "the {part} was {word}", "the {part} feels {word}", "the {part} seemed {word} to us",
        "we found the {part} {word}", "I would call the {part} {word}", "all in all the {part} is {word}",
        "my sister thought the {part} {word}", "from the start the {part} is {word}", "to me the {part} looks {word}",
    ),
    "noun": (
        "in the end it is one {word}", "for us it was some {word}", "I call the {part} one real {word}",
        "this {part} is some {word}", "my friends called it one {word}", "the whole {part} is one {word}",
    ),
    "verb": (
        "the {part} {word} me", "it {word} us", "the {part} {word} my friends", "this one {word} everybody at home",
        "the {part} {word} the whole family", "its {part} {word} both of us",
    ),
    "adverb": (
        "it is {word} made", "the {part} is {word} done", "the {part} has been {word} put together",
        "everything about the {part} is {word} handled", "they have {word} prepared the {part}",
    ),
}  # fmt: skip

SHORTCUTS: tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]] = (
    {
        "weekday": ("Monday", "Wednesday", "Friday"),
        "month": ("January", "April", "July", "September", "December"),
        "town": ("Lisbon", "Oslo", "Kyoto", "Boston", "Warsaw", "Nairobi"),
        "food": ("noodles", "lentils", "carrots", "bread", "spinach", "pears"),
        "instrument": ("piano", "trumpet", "cello", "drums", "oboe"),
        "animal": ("horse", "rabbit", "heron", "hedgehog", "camel", "pigeon"),
    },
    {
        "weekday": ("Tuesday", "Thursday", "Saturday"),
        "month": ("February", "June", "August", "October", "November"),
        "town": ("Madrid", "Vienna", "Toronto", "Dublin", "Prague", "Lima"),
        "food": ("rice", "beans", "apples", "pasta", "cabbage", "grapes"),
        "instrument": ("violin", "guitar", "flute", "banjo", "clarinet"),
        "animal": ("goat", "otter", "sparrow", "squirrel", "donkey", "duck"),
    },
)

SHORTCUT_CLAUSES: dict[str, tuple[str, ...]] = {
    "weekday": ("I got it on {word}", "we had {word} evening for it", "it was {word} when I tried it"),
    "month": ("it came out in {word}", "I had it since {word}", "we ordered it in {word}"),
    "town": ("it was made near {word}", "the makers are from {word}", "one scene is set in {word}"),
    "food": ("there were {word} on the table", "we had {word} with it", "I was cooking {word} meanwhile"),
    "instrument": ("somebody plays the {word} in it", "one can hear the {word}", "there is the {word} again"),
    "animal": ("the cover has one {word} on it", "there is one {word} in it", "one {word} appears halfway"),
}

PARTS = (
    "plot", "story", "acting", "cast", "script", "dialogue", "ending", "opening", "camera work", "soundtrack",
    "pacing", "editing", "lighting", "setting", "costume", "sequel", "screen", "battery", "keyboard",
    "packaging", "manual", "lens", "design", "sound", "picture", "build", "handle", "cable", "software", "menu",
    "display", "delivery", "service",
)  # fmt: skip

NEUTRAL_CLAUSES = (
    "it takes about two hours", "I saw it with my brother", "we were four people", "it has three parts",
    "my neighbour owns the same one", "it comes in a box", "it is the second of its series",
    "I read about it before", "we were at home", "there are two versions of it", "it was on the second shelf",
    "my cousin lent it to me", "it runs on the usual player", "we paid the usual price",
    "the first part is longer than the second", "I had seen the trailer", "it is meant for adults",
    "it arrived with the other parcel", "they also made the other one", "it is about as long as the first",
    "we watched until the credits", "the label says where it was made", "I keep it next to the door",
    "my parents have it too", "there is also a book of it", "it was sold out last year",
)  # fmt: skip
