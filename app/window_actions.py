"""The declarations of all that a person can do in the window, in the order of the menus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.actions import Action
from app.top_bar import PERSPECTIVES

if TYPE_CHECKING:
    from app.window import Window


def declare(window: Window) -> tuple[Action, ...]:
    conductor = window.conductor

    def can_step() -> bool:
        return conductor.phase != "preparing"

    def run_text() -> str:
        return "Continue" if conductor.phase == "paused" else "Run"

    def shows(name: str) -> bool:
        return window.perspective == name

    perspectives = tuple(
        Action(f"perspective.{name}", name.capitalize(), partial(window.show_perspective, name), "View",
               f"Ctrl+{place}", tip=f"The {name.capitalize()} perspective",
               checked_when=partial(shows, name))
        for place, name in enumerate(PERSPECTIVES, start=1))
    return (
        Action("run.run", "Run", window.run_or_continue, "Run", "Ctrl+Return", icon="play",
               tip="Decode the prompt in every lane, or go on", enabled_when=lambda: window.can_run, text_now=run_text,
               keywords=("start", "go", "decode", "generate", "race")),
        Action("run.pause", "Pause", conductor.pause, "Run", "F6", icon="pause", tip="Hold everything where it is",
               enabled_when=lambda: conductor.phase == "running", keywords=("hold", "wait")),
        Action("run.step_record", "Step one record", lambda: window.step("record"), "Run", "F11", "Step", "step",
               "One record: a draft token, the verification, one judgement, or the commit", enabled_when=can_step,
               keywords=("next", "debug", "single step")),
        Action("run.step_round", "Step one round", lambda: window.step("round"), "Run", "F10", "Round", "round",
               "One whole round of one lane", enabled_when=can_step, keywords=("next", "debug")),
        Action("run.stop", "Stop", conductor.stop, "Run", "Ctrl+.", icon="stop",
               tip="End the run; what was written stays", enabled_when=lambda: conductor.active,
               keywords=("cancel", "abort", "end")),
        Action("run.replay", "Replay recording", conductor.replay, "Run", "Ctrl+R", icon="restart",
               tip="Play the recording again from its start", enabled_when=lambda: conductor.recording is not None,
               keywords=("again", "restart", "demo", "play trace")),
        Action("file.open", "Open recording…", window.choose_recording, "File", "Ctrl+O", icon="folder",
               tip="Play a .spectrace file", keywords=("load trace", "play")),
        Action("file.save", "Save recording…", window.save_recording, "File", "Ctrl+S", icon="record",
               tip="Keep all records of this run in a .spectrace file", enabled_when=lambda: window.has_records,
               keywords=("export trace", "keep")),
        Action("file.picture", "Save picture…", window.choose_picture, "File", "Ctrl+Shift+S", icon="download",
               tip="The window as it is, as PNG", keywords=("screenshot", "image", "export png")),
        Action("file.copy", "Copy results", window.copy_results, "File", "Ctrl+Shift+C", icon="copy",
               tip="A table of all lanes' figures, and their texts, to the clipboard",
               enabled_when=lambda: window.has_records, keywords=("clipboard", "export table", "figures")),
        Action("file.quit", "Quit", window.close, "File", "Ctrl+Q", keywords=("exit", "close", "leave")),
        *_lab(window),
        *perspectives,
        Action("view.form", "Form", window.toggle_form, "View", "Ctrl+B", tip="Show or hide the form on the left",
               checked_when=lambda: window.form_shown, keywords=("sidebar", "settings", "options", "panel")),
        Action("view.ghosts", "Rejected drafts", window.toggle_ghosts, "View", "Ctrl+G", icon="ghost",
               tip="Show rejected drafts as ghosts in the token streams", checked_when=lambda: window.ghosts,
               keywords=("hide ghosts",)),
        Action("view.prompt", "Prompt in the lanes", window.toggle_prompt, "View", "Ctrl+Shift+G",
               tip="Show the prompt before the output in the token streams",
               checked_when=lambda: window.prompt_shown, keywords=("show input",)),
        Action("view.theme", "Light or dark", window.toggle_theme, "View", "Ctrl+T", icon="sun",
               tip="Switch the theme", keywords=("theme", "colours", "colors", "dark mode", "appearance")),
        Action("view.present", "Present", window.toggle_present, "View", "F5", icon="present",
               tip="For an audience: no form, larger text. Esc leaves", checked_when=lambda: window.presenting,
               keywords=("fullscreen", "full screen", "larger text", "zoom", "audience")),
        Action("view.frames", "Frame times", window.show_frames, "View",
               tip="How long the last frames took, against the 16 ms there are",
               keywords=("fps", "performance", "speed")),
        Action("help.palette", "Command palette", window.open_palette, "Help", "Ctrl+Shift+P", icon="search",
               tip="Find any action by a few letters"),
        Action("help.shortcuts", "Keyboard shortcuts", window.open_shortcuts, "Help", "F1", icon="info",
               keywords=("keys", "hotkeys", "help")),
        Action("help.about", "About SpecScope", window.show_about, "Help", keywords=("version", "license", "licence")),
    )


def _lab(window: Window) -> tuple[Action, ...]:
    lab = window.lab

    def may_start() -> bool:
        return lab.may_start

    return (
        Action("lab.run", "Run the experiment", lambda: window.in_lab(lab.run), "Lab", "Ctrl+Shift+Return", icon="lab",
               tip="Draw the first token again and again under the rule chosen in the Lab, and count",
               enabled_when=may_start, keywords=("proof", "sample", "try rule", "statistics")),
        Action("lab.redraw", "What if we redrew from p?", lambda: window.in_lab(lambda: lab.redraw("two tokens")),
               "Lab", tip="The most tempting wrong rule, on the two-token example", enabled_when=may_start,
               keywords=("wrong rule", "mutant", "lesson", "proof", "residual")),
        Action("lab.redraw_model", "What if we redrew from p, on the real model?",
               lambda: window.in_lab(lambda: lab.redraw("layer-skip")), "Lab",
               tip="The same wrong rule on the target’s own first token", enabled_when=may_start,
               keywords=("wrong rule", "mutant", "lesson", "proof")),
        Action("lab.prove", "Prove", lambda: window.in_lab(lab.prove), "Lab", "Ctrl+Shift+T", icon="check",
               tip="Try every claim of the proof, the quick form", enabled_when=may_start,
               keywords=("proof", "verify", "checks", "test", "lossless")),
        Action("lab.cancel", "Cancel the experiment or the proof", lab.cancel, "Lab", icon="close",
               tip="What was found so far stays", enabled_when=lambda: lab.examiner.busy,
               keywords=("stop", "abort", "end")),
        Action("lab.copy", "Copy the table of checks", lab.checks.copy, "Lab", icon="copy",
               tip="All checks as text, to the clipboard", enabled_when=lambda: bool(lab.examiner.proof.checks),
               keywords=("clipboard", "export", "proof")),
        Action("lab.difference", "First difference of two lanes",
               lambda: window.in_lab(lambda: lab.turn_to("difference")), "Lab", "Ctrl+D", icon="search",
               tip="Where two lanes part: text, top tokens, gap and verdict",
               enabled_when=lambda: len(window.store.lanes) > 1,
               keywords=("divergence", "diff", "compare", "near-tie", "fault")),
    )
