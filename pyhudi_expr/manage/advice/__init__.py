"""Advise which indexes a table's queries would gain from: RFC-77 leaves these estimates open."""
