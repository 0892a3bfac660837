"""Slices: where a subject fails, by the values of columns that a user names (a site, a sex, a device).

In go samples and what a subject says of them; out come the findings `slices.*`: every value, the worst of them with an
interval that allows for having been named, and what a search among pairs of values finds on one half of the samples and
confirms on the other (Chung et al., *Slice Finder*, 2019). Begin with `search`.
"""
