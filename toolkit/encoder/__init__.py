"""Importing this package tells sentence-transformers our module, so that it loads our encoders without more words.

Since version 6 it asks for `trust_remote_code=True` wherever a saved model names a module that is not its own. Whoever
has imported `toolkit.encoder` has said that already.
"""

from sentence_transformers.base.model import BaseModel

from toolkit.encoder.modules import ParaphrasticEncoder

TYPE = f"{ParaphrasticEncoder.__module__}.{ParaphrasticEncoder.__name__}"
BaseModel._module_classes = {**BaseModel._module_classes, TYPE: ParaphrasticEncoder}
