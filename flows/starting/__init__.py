"""How a team begins: an address of data goes in, files that run as they are come out.

Begin with first_look.py (what the columns hold), column_roles.py (what they mean), proposal.py (the audit that is
proposed); first_audit.py writes it down.
"""
