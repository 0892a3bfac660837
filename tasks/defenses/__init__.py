"""Defences: subjects trained against attacks (Xu et al. 2020, section 4.5), and what that gains and costs."""
