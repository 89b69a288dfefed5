"""The one question before code from elsewhere may run."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget


def ask_for_trust(parent: QWidget, source: str) -> bool:
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle("Run code that comes with a model?")
    box.setText(f"Let {source} run its own Python code?")
    box.setInformativeText(
        "Some models bring Python files along, and loading such a model runs them on this machine with all your "
        "rights: they can read, change and send your files. SpecScope can't check them.\n\n"
        "Say yes only if you trust whoever published it. Most models don't need this.")
    yes = box.addButton("Run its code", QMessageBox.ButtonRole.DestructiveRole)
    no = box.addButton("Don't", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.exec()
    answer = box.clickedButton() is yes
    box.deleteLater()
    return answer
