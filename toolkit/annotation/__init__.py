"""Human evaluation: the papers' sheets, their pages, their answers, and the tables of the answers."""

__all__ = ["make", "serve", "sheets", "summary"]
