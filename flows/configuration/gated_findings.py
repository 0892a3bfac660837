"""Which findings each stage can measure: a gate on any other would fail every night, so it is refused at the door."""

from __future__ import annotations

from collections.abc import Mapping

from assay.flows.configuration.mistakes import suggestion

_ANSWERS = "accuracy auc class_auc degenerate majority_rate prediction_entropy recall"
_TERMS = "cost cut drop drop_p gain gain_over_control own_gain own_gain_over_control recovered"
SPREAD = "_spread"
"""What stands behind the metric of a trust finding that says how far the repeats lie apart."""

METRICS: Mapping[str, frozenset[str]] = {
    stage: frozenset(names.split())
    for stage, names in {
        "labeling": "accuracy conflicts coverage faults functions overlaps",
        "pruning": "constant kept",
        "weak_labels": "undecided",
        "ordering": "accuracy accuracy_easiest accuracy_hardest distinct_scores largest_tie permutation_p "
        "permutation_p_violation spearman spearman_disjoint spearman_tie_free",
        "subject": f"{_ANSWERS} spearman trend_p",
        "attack": f"{_ANSWERS} accuracy_change distance distance_l2 flip_rate fooling_rate limit mcnemar_p "
        "modified_share perturbed_words perturbed_words_difference queries queries_difference red_flag refused "
        "similarity skipped steps success_difference success_rate transfer unchanged winner",
        "corruption": "accuracy flip_probability relative_flip_probability",
        "defense": "abstains accuracy between_p certified_accuracy control_mcnemar_p gain gain_over_control mcnemar_p",
        "diagnostics": "knn_agreement labels_named pairs_named",
        "trust": "accuracy accuracy_difference balance confidence_auc explanation_precision f1 faint g_mean "
        "g_mean_difference keyword_seconds label_seconds out_of_scope precision sensitivity specificity theta_relate "
        "trustworthy truth undecided untrustworthy",
        "overfitting": "adversarial_error attackable counts_from density error error_by_offset estimate gap "
        "h_adversarial h_original level look_up look_ups minimum_gap p_value passes rejected rejected_basic risk "
        "samples_needed seed_error seed_gap seed_p_value",
        "ner": f"f1 precision recall {_TERMS}",
        "sts": f"mae pearson spearman {_TERMS}",
    }.items()
}
"""Per stage the metrics of its findings; a test reads the rooms' code for any that is missing here."""


def unknown_metric(finding: str) -> str:
    """What is wrong with the `stage.metric` that a gate names, and what was probably meant; empty where it exists.

    >>> unknown_metric("attack.acuracy"), unknown_metric("attack.accuracy")
    ('no stage measures attack.acuracy; did you mean attack.accuracy?', '')
    """
    stage, _, metric = finding.partition(".")
    known = METRICS.get(stage)
    if known is None or metric in known or (stage == "trust" and metric.removesuffix(SPREAD) in known):
        return ""
    return f"no stage measures {finding}; {suggestion(finding, [f'{stage}.{name}' for name in sorted(known)])}"
