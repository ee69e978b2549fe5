"""All artefacts by name, in the order in which they are shown."""

from baserate_lab.paper import (
    fig_holdout,
    fig_online_samples,
    fig_shl,
    fig_split,
    table_all_holdout,
    table_arxiv_titles,
    table_complexity,
    table_defaults,
    table_lazy,
    table_marginals,
    table_mon_squ,
    table_pool,
    table_retrain,
    table_rf,
    table_sols_cifar,
    table_sols_mnist,
    table_sols_published,
    table_time,
    table_uols,
)
from baserate_lab.paper.artefact import Artefact

ARTEFACTS: dict[str, Artefact] = {
    module.ARTEFACT.name: module.ARTEFACT
    for module in (
        table_uols,
        table_rf,
        fig_holdout,
        fig_split,
        table_sols_cifar,
        table_sols_mnist,
        table_sols_published,
        table_time,
        table_complexity,
        table_mon_squ,
        table_all_holdout,
        fig_online_samples,
        table_marginals,
        fig_shl,
        table_retrain,
        table_arxiv_titles,
        table_defaults,
        table_lazy,
        table_pool,
    )
}
