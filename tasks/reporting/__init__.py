"""Reporting: parts laid out on one self-contained page. It knows no stage; flows hand the parts over."""
