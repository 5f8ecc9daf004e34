__all__ = ['ttypes', 'constants', 'PruningService']
