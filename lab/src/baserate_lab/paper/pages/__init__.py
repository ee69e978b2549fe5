"""Output of artefacts: records, tables, figures, a report."""
