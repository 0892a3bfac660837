"""What the simulated abstracts are made of: sentences with places for terms, and words that only look like terms.

`{C}` is a chemical, `{D}` a disease, `{C2}` and `{D2}` another one, `{CS}` and `{DS}` another name of the same one. The
other places are filled from `FILLERS`. `LURES` stand where terms stand and are none, and `HOMONYMS` use words of terms
in another meaning: who only knows words is wrong about them.
"""

SENTENCES = (
    "{patients} with {D} were treated with {C} for {time} .",
    "{C} was given {route} to {patients} with {D} .",
    "{C} - induced {D} was {seen} in {number} {patients} .",
    "We report {number} {cases} of {D} {after} {C} .",
    "A {age} - year - old {person} developed {D} {after} {C} .",
    "The {person} had a history of {D} and was taking {C} and {C2} .",
    "{D} ( {DS} ) is a common complication of {D2} .",
    "{C} ( {CS} ) is {widely} used in the management of {D} .",
    "The risk of {D} was {higher} among users of {C} than among users of {C2} .",
    "{D} resolved {time} after {C} was {stopped} .",
    "Pretreatment with {C} {reduced} the incidence of {D} in {animals} .",
    "{animals} received {C} {route} , and {D} was {seen} within {time} .",
    "There was no {evidence} that {C} causes {D} .",
    "{patients} with {D} , {D2} or both were excluded .",
    "Serum levels of {C} were {measured} in {patients} with {D} .",
    "{C} and {C2} were {compared} in a {study} of {D} .",
    "{seldom} , {D} has been reported with {C} .",
    "The effect of {C} on {D} remains {unclear} .",
    "{D} is the most frequent side effect of {C} .",
    "In {animals} , {C} {reduced} the severity of {D} .",
    "Neither {C} nor {C2} {prevented} {D} .",
    "Because of {D} , {C} was replaced by {C2} .",
    "{person_cap} was admitted with {D} and died of {D2} {time} later .",
    "{C} is metabolised in the liver and excreted by the kidney .",
    "The {dose} dose of {C} was {number} mg per day .",
    "Symptoms of {D} were scored by two {observers} .",
    "Although {D} is rare , {observers} should be aware of it when {C} is prescribed .",
    "Children with {D} {responded} to {C} .",
    "Concomitant use of {C} and {C2} may lead to {D} .",
    "We studied the {mechanism} of {D} caused by {C} in {animals} .",
    "Mothers with {D} were treated with {C} during pregnancy .",
    "Discontinuation of {C} was followed by {D} .",
)
"""Sentences of training and test alike."""

NEW_SENTENCES = (
    "{D} complicating treatment with {C} is described .",
    "Is {C} of benefit in {D} ?",
    "Withdrawal of {C} unmasked {D} in {number} {patients} .",
    "Prophylactic {C} , but not {C2} , delayed the onset of {D} .",
    "Fatal {D} followed an overdose of {C} .",
    "Exposure to {C} in early life is linked to {D} and {D2} .",
)
"""Sentences of the test alone."""

LURES = (
    "{patients} with {lure} were treated with {caution} for {time} .",
    "The {person} had a history of {lure} .",
    "{lure_cap} was {seen} in {number} {patients} .",
    "The effect of {caution} on {lure} remains {unclear} .",
    "{patients} were followed for {time} by two {observers} .",
    "Exercise - induced {lure} was {measured} in {animals} .",
    "Informed consent was obtained from all {patients} .",
    "Neither {lure} nor {caution} differed between the groups .",
    "We report the results of a {study} of {caution} .",
)
"""Sentences without any term."""

HOMONYMS = (
    "Depression of the ST segment was {seen} in {number} {patients} .",
    "The stroke volume was {measured} {time} after surgery .",
    "A heart rate monitor and an insulin pump were {compared} .",
    "Treatment failure was {seen} in {number} {patients} .",
    "The lithium battery of the device was replaced .",
    "High pressure in the tube {prevented} the {measurement} .",
    "An attack on the validity of the {study} was published .",
    "The nicotine gum was {compared} with chewing gum .",
    "Blood was drawn from the heart and the liver of {animals} .",
    "Loss of data was {seen} in {number} centres .",
    "Hives and bees were kept beside the {animals} .",
)
"""Words of terms that are none here; the chemical in the pump, the battery and the gum is a part of a thing."""

FILLERS: dict[str, tuple[str, ...]] = {
    "patients": ("patients", "women", "men", "volunteers", "children", "adults", "subjects", "outpatients"),
    "person": ("man", "woman", "patient", "girl", "boy", "farmer", "nurse"),
    "person_cap": ("A man", "A woman", "One patient", "The child", "A teacher"),
    "animals": ("rats", "mice", "rabbits", "dogs", "guinea pigs", "pigs"),
    "time": ("two weeks", "six months", "three days", "a year", "24 hours", "several weeks", "ten minutes"),
    "route": ("orally", "intravenously", "by mouth", "as a single dose", "by inhalation", "at night"),
    "seen": ("observed", "seen", "found", "noted", "detected", "recorded"),
    "number": ("two", "three", "12", "40", "nine", "several", "100", "25"),
    "cases": ("cases", "instances", "new cases", "fatal cases"),
    "after": ("after", "during treatment with", "following", "associated with", "while taking", "due to"),
    "age": ("24", "35", "47", "58", "63", "71"),
    "widely": ("widely", "often", "sometimes", "commonly"),
    "higher": ("higher", "lower", "similar", "two times higher"),
    "stopped": ("stopped", "withdrawn", "discontinued", "reduced"),
    "reduced": ("reduced", "increased", "did not change", "halved"),
    "evidence": ("evidence", "indication", "proof", "sign"),
    "measured": ("measured", "determined", "monitored", "recorded"),
    "compared": ("compared", "studied", "evaluated", "examined"),
    "study": ("randomised trial", "retrospective study", "small study", "double blind trial", "cohort study"),
    "seldom": ("Rarely", "Occasionally", "In addition", "Recently", "To our knowledge"),
    "unclear": ("unclear", "unknown", "controversial", "to be determined"),
    "prevented": ("prevented", "influenced", "changed", "improved"),
    "dose": ("mean", "total", "initial", "maximum", "daily"),
    "observers": ("physicians", "clinicians", "observers", "investigators"),
    "responded": ("responded well", "did not respond", "were resistant", "responded"),
    "mechanism": ("mechanism", "time course", "prevention", "severity"),
    "measurement": ("measurement", "experiment", "reading"),
    "lure": (
        "private insurance", "follow up", "smoking habits", "normal findings", "surgery", "physical training",
        "weight gain programmes", "high fibre diets", "family support", "body temperature", "sleep hygiene",
        "plasma exchange", "liver function", "muscle strength", "renal blood flow", "heart rate", "memory training",
    ),
    "lure_cap": ("Surgery", "Good compliance", "Follow up", "Normal liver function", "Improved sleep hygiene"),
    "caution": (
        "physiotherapy", "acupuncture", "caution", "placebo", "compression stockings", "counselling", "dialysis",
        "radiotherapy", "bed rest", "saline", "a pacemaker", "massage", "breathing exercises",
    ),
}  # fmt: skip
"""What fills the places that are no terms."""
