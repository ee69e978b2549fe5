"""How artefacts are shown: records, tables, figures, a report."""
