"""What all subjects that read tokens share: files of a transformer, blocks of fixed shapes, and how they learn."""
