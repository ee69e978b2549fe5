"""A tiny DistilBERT of random weights, made on the spot."""

import torch
import transformers

WORDS = ["red", "green", "blue", "apple", "leaf", "sky", "and", "the"]


def make_encoder(folder, seed):
    torch.manual_seed(seed)
    config = transformers.DistilBertConfig(vocab_size=13, dim=16, hidden_dim=32, n_layers=2, n_heads=2)
    transformers.DistilBertModel(config).save_pretrained(folder)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.DistilBertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)
