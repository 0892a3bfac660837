"""Subjects of tables: how one learns from feature columns or comes as it is, and how it fares on D1…DN."""
