"""A sentence encoder of Hugging Face's layout, small and random."""

import pytest

LETTERS = [*"abcdefghijklmnopqrstuvwxyz.!", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
WHOLE = ["this", "is", "about", "good", "film", "war", "peace"]


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """The folder of a two-layer BERT whose vocabulary is letters and a few words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {token: place for place, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WHOLE, *LETTERS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=600))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=100,
        pad_token_id=0,
        hidden_dropout_prob=0.5,
    )
    BertModel(config).save_pretrained(folder, safe_serialization=True)
    return folder
