"""Where a subject fails: how right it is on every value of the columns that a user names (a site, a sex, a device), the
worst of them with an interval that allows for having been named, and a search among pairs of values that finds on one
half of the samples and confirms on the other. Section 6 of the inference notes; Chung et al., *Slice Finder* (2019)."""
