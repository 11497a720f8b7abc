"""Human evaluation of parabanks: the papers' sheets, made, filled in and summarised."""
