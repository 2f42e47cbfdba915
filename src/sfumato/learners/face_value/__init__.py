"""Any scikit-learn classifier, fitted to reports as if they were true values."""

from sfumato.learners.face_value.classifier import FaceValueClassifier

__all__ = ["FaceValueClassifier"]
