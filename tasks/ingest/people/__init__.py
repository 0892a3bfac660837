"""Gold that people gave: what they answered in Label Studio about samples that a night handed out, taken as the true
class of the next night. Answers override or complete the gold column of the source, by the samples' ids; where people
disagree evenly, or skipped a task, it stays as it was, and all of it is counted and told."""
