"""The commands of `assay`, one module per family. Nothing heavy is imported until a command runs."""
