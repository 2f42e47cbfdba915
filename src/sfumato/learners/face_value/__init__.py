"""Any scikit-learn classifier on reports, as if they were true values."""

from sfumato.learners.face_value.classifier import FaceValueClassifier

__all__ = ["FaceValueClassifier"]
