"""Chance: how often the answers of a subject change by themselves, and what attacks, corruptions and other prompts add.

The subject's answers to the same samples asked several times, and to what was made of them, come in; the findings
`attack.flips_by_chance`, `…above_chance`, `attack.agreement` and `attack.depends` go out. Begin with `flips.py`.
"""
