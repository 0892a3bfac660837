"""The whole chain on one data set, shrunken: from rules that look at pictures to a report, in well under a minute."""

PIPELINES = """
pipelines:
  shrunken:
    source: {dataset: sample/lesions-small}
    labeling: {functions: lesions}
    pruning: {correlation: 0.6}
    weak_labels: {labelers: [majority, snorkel], epochs: 60}
    ordering: {datasets: 3}
    evaluation: {limit: 60}
    subjects: &net
      - {name: net, network: small-cnn, width: 0.25, crop: 26, train_on: weak, train: {epochs: 3, batch_size: 32}}
    attacks:
      - pgd: {eps: [4/255], steps: 2, keep: 1}
      - gap: {eps: 4/255, epochs: 1, width: 4, keep: 0}
      - square: {eps: [4/255], queries: 3, keep: 0}
    corruptions: {perturbations: [brightness], severities: [3], frames: 3}
    defenses: [standard: {eps: 4/255, steps: 1, train: {epochs: 1}}]
    diagnostics: {eps: 4/255, images: 1, tsne_samples: 20, perplexity: 5, steps: 8}
    overfitting: {translations: {eps: 1, fresh: fresh, training: false}}
    gates: [{finding: labeling.coverage, of: "", at_least: 0.9}]

  sharing:                               # another audit of the same lesions, by the same rules, of the same network
    source: {dataset: sample/lesions-small}
    labeling: {functions: lesions}
    pruning: {correlation: 0.6}
    weak_labels: {labelers: [majority, snorkel], epochs: 60}
    ordering: {datasets: 3}
    evaluation: {limit: 60}
    subjects: *net
    attacks:
      - pgd: {eps: [4/255], steps: 2, keep: 1}
"""
