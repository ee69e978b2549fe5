"""Hugging Face
============

A text-classification pipeline of Hugging Face: baserate needs the scores of all labels, in one order.

With ``top_k=None`` the pipeline returns every label of a text, the likeliest first, so the order differs from text to
text: `rows` puts them in the order of the model's own ``id2label``. Nothing is downloaded: a small BERT of random
weights is trained here, in seconds, on made-up messages to a shop. For a model of your own, replace `train` by
``pipeline("text-classification", model="your/model", top_k=None)``; the rest stays.
"""

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, pipeline
from transformers.utils import logging

import baserate
from baserate.shifts import Square, sample_stream

LABELS = ("order", "question", "complaint")
WORDS = (
    "buy order size cart checkout price ship add pay basket",
    "where when which does can open hours available fit color",
    "broken late refund missing wrong never again return angry damaged",
)
COMMON = ["the", "my", "a", "please", "hello", "it", "item", "shoes", "parcel", "thanks", "today", "you"]


def write(y, rng):
    """Messages of eight words: most are common, a few speak of the label, and some of another one."""
    own = [words.split() for words in WORDS]
    texts = []
    for label in y:
        kinds = rng.choice(3, size=8, p=[0.5, 0.3, 0.2])
        pools = [COMMON, own[label], own[rng.integers(len(LABELS))]]
        texts.append(" ".join(rng.choice(pools[kind]) for kind in kinds))
    return texts


def train(texts, y):
    """Train a small BERT with a tokenizer of whole words, and return its pipeline."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *COMMON, *" ".join(WORDS).split()]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16, id2label=dict(enumerate(LABELS)), label2id={v: i for i, v in enumerate(LABELS)},
    )  # fmt: skip
    net = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    encoded, labels = fast(texts, padding=True, return_tensors="pt"), torch.tensor(y)
    for _ in range(6):
        for batch in torch.randperm(len(texts)).split(64):
            optimizer.zero_grad()
            net(**{name: values[batch] for name, values in encoded.items()}, labels=labels[batch]).loss.backward()
            optimizer.step()
    return pipeline("text-classification", model=net.eval(), tokenizer=fast, top_k=None, device="cpu")


def rows(classify, texts):
    """Return the pipeline's scores as an (n, k) array, columns in the order of the model's labels."""
    names = [name for _, name in sorted(classify.model.config.id2label.items())]
    answers = [{found["label"]: found["score"] for found in answer} for answer in classify(texts, batch_size=64)]
    return np.array([[answer[name] for name in names] for answer in answers])


def main(seed=0):
    """Classify messages; after a bad shipment, most of them are complaints for a while."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    y = rng.choice(3, size=4500, p=[0.5, 0.4, 0.1])
    texts = write(y, rng)
    classify = train(texts[:1500], y[:1500])
    adapter = baserate.RegressAndReweight().fit(rows(classify, texts[1500:3000]), y[1500:3000])

    proba, drift = rows(classify, texts[3000:]), Square(length=100, first=[0.5, 0.4, 0.1], second=[0.1, 0.1, 0.8])
    wrong, n = np.zeros(2), 0
    for batch in sample_stream(proba, y[3000:], drift, n_rounds=400, rng=seed):
        step = adapter.step(batch.proba)
        wrong += [(scores.argmax(axis=1) != batch.y).sum() for scores in (batch.proba, step.proba)]
        n += len(batch.y)
    before, now = proba.argmax(axis=1), adapter.predict_proba(proba).argmax(axis=1)
    changed = int(np.flatnonzero(before != now)[0])
    print(f"{texts[3000 + changed]!r}: {LABELS[before[changed]]} before, {LABELS[now[changed]]} now")
    print(
        "class mix now: " + ", ".join(f"{share:.0%} {name}" for name, share in zip(LABELS, adapter.prior_, strict=True))
    )
    print(f"wrong: {wrong[0] / n:.1%} of the pipeline's own answers, {wrong[1] / n:.1%} of the adapted ones")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/calibration.svg"
