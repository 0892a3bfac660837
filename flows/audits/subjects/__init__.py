"""The models under audit: trained, asked, and measured on clean samples."""
