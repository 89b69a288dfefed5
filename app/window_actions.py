"""The declarations of all that a person can do in the window, in the order of the menus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.actions import Action
from app.top_bar import PERSPECTIVES
from engine.debugger.what_if import NoChange

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
        Action("run.five", "Race all five", window.race_five, "Run", "Ctrl+5", icon="lanes",
               tip="Plain decoding against a draft model, EAGLE, Medusa, prompt lookup and layer skip, on the built-in "
               "target: fills the lanes and runs",
               enabled_when=lambda: window.can_run, keywords=("compare", "every method", "all methods", "demo")),
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
        *_go(window),
        *_debug(window),
        Action("file.open", "Open recording…", window.files.choose_recording, "File", "Ctrl+O", icon="folder",
               tip="Play a .spectrace file, or what other programs have recorded", keywords=("load trace", "play")),
        *_recent(window),
        Action("file.save", "Save recording…", window.files.save_recording, "File", "Ctrl+S", icon="record",
               tip="Keep all records of this run in a .spectrace file", enabled_when=lambda: window.has_records,
               keywords=("export trace", "keep")),
        Action("file.export", "Export…", window.files.choose_export, "File", "Ctrl+E",
               tip="For other programs: Perfetto, CSV, Parquet", enabled_when=lambda: window.has_records,
               keywords=("csv", "parquet", "perfetto", "chrome", "convert")),
        Action("file.picture", "Save picture…", window.files.choose_picture, "File", "Ctrl+Shift+S", icon="download",
               tip="The window as it is, as PNG", keywords=("screenshot", "image", "export png")),
        Action("file.copy", "Copy results", window.files.copy_results, "File", "Ctrl+Shift+C", icon="copy",
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


RECENT = 5


def _recent(window: Window) -> tuple[Action, ...]:
    """The files that were opened last; those that are gone leave their places empty."""
    def name(place: int) -> str:
        paths = window.files.lately
        return f"Open again: {paths[place].name}" if place < len(paths) else f"Open again: no file {place + 1} yet"

    def open_again(place: int) -> None:
        window.files.open(window.files.lately[place])

    return tuple(Action(
        f"file.recent{place + 1}", f"Open again: file {place + 1}", partial(open_again, place), "File",
        "Ctrl+Shift+O" if place == 0 else "", tip="A file that was opened lately",
        enabled_when=partial(lambda at: at < len(window.files.lately), place), text_now=partial(name, place),
        keywords=("recent", "history", "last")) for place in range(RECENT))


def _go(window: Window) -> tuple[Action, ...]:
    """Back and forth over what is recorded."""
    conductor, playback = window.conductor, window.conductor.playback

    def can_go_back() -> bool:
        return playback.place > 0

    def can_go_on() -> bool:
        return conductor.phase == "paused"

    return (
        Action("go.play", "Play on", conductor.proceed, "Go", "F7", icon="play",
               tip="On from the cursor at the measured pace; past the end the engine runs", enabled_when=can_go_on,
               keywords=("continue", "resume")),
        Action("go.play_back", "Play backwards", conductor.play_backwards, "Go", "Shift+F7", icon="play-back",
               tip="Back from the cursor at the measured pace", enabled_when=can_go_back,
               keywords=("reverse", "rewind")),
        Action("go.back_record", "Step back one record", lambda: window.step_back("record"), "Go", "Shift+F11",
               icon="step-back", tip="Undo what the last step showed", enabled_when=can_go_back,
               keywords=("reverse", "previous", "rewind")),
        Action("go.back_round", "Step back one round", lambda: window.step_back("round"), "Go", "Shift+F10",
               icon="round-back", tip="To the end of the round before", enabled_when=can_go_back,
               keywords=("reverse", "previous", "rewind")),
        Action("go.next_stop", "To the next breakpoint", window.debugger.next_stop, "Go", "F8", icon="breakpoint-next",
               tip="Or, where none is recorded, on until one is hit",
               enabled_when=lambda: conductor.phase == "paused" or (
                   conductor.phase == "running" and playback.behind), keywords=("continue", "run to")),
        Action("go.last_stop", "To the breakpoint before", window.debugger.last_stop, "Go", "Shift+F8",
               icon="breakpoint-back", tip="Back to where a breakpoint stops, or to the start",
               enabled_when=can_go_back, keywords=("reverse continue",)),
        Action("go.to_start", "To the start", lambda: conductor.go(0), "Go", "Ctrl+Home", icon="to-start",
               tip="Before anything was decoded", enabled_when=can_go_back, keywords=("rewind", "first")),
        Action("go.to_end", "To the end", lambda: conductor.go(len(window.store.records())), "Go", "Ctrl+End",
               icon="to-end", tip="To the last record", enabled_when=lambda: playback.behind,
               keywords=("last", "now", "live")),
        Action("go.faster", "Play faster", lambda: window.foot.change_speed(1), "Go", "Ctrl+]",
               tip="Up to 8 times the measured pace", keywords=("speed",)),
        Action("go.slower", "Play more slowly", lambda: window.foot.change_speed(-1), "Go", "Ctrl+[",
               tip="Down to a tenth of the measured pace", keywords=("speed", "slow motion")),
    )


def _debug(window: Window) -> tuple[Action, ...]:
    debug = window.debug

    def may_branch() -> bool:
        return not debug.may_branch

    def nothing_changed() -> None:
        moment = window.debugger.moment
        debug.what_if(NoChange(round=moment.round.round if moment is not None and moment.round is not None else 0))

    return (
        Action("debug.breakpoint", "New breakpoint…", lambda: window.in_debug(debug.new_breakpoint), "Debug",
               "Ctrl+Shift+B", icon="record", tip="Stop when something happens: choose what",
               keywords=("stop", "condition", "watchpoint")),
        Action("debug.settings", "What if, from this round on …", lambda: window.in_debug(debug.change_settings),
               "Debug", "Ctrl+I", icon="branch", tip="Another γ, temperature, top-p or drafter, in a branch",
               enabled_when=may_branch, keywords=("branch", "gamma", "temperature", "drafter")),
        Action("debug.branch", "Branch here, nothing changed", lambda: window.in_debug(nothing_changed), "Debug",
               icon="branch", tip="It repeats the original: the test of the whole idea", enabled_when=may_branch,
               keywords=("what if", "replay")),
        Action("debug.timeline", "Timeline", lambda: window.in_debug(lambda: debug.turn_to("timeline")), "Debug",
               tip="When each step happened"),
        Action("debug.rounds", "Rounds table", lambda: window.in_debug(lambda: debug.turn_to("rounds")), "Debug",
               tip="All rounds in a table: sort, filter, copy", keywords=("list", "filter")),
        Action("debug.compare", "Branch beside its original", lambda: window.in_debug(lambda: debug.turn_to("branch")),
               "Debug", tip="The first difference, and what it cost", keywords=("diff", "aligned")),
        Action("debug.state", "State and watches", lambda: window.in_debug(lambda: debug.turn_side("state")), "Debug",
               tip="All that is known at the cursor, and expressions of your own", keywords=("watch", "variables")),
        Action("debug.breakpoints", "List of breakpoints",
               lambda: window.in_debug(lambda: debug.turn_side("breakpoints")), "Debug"),
        Action("debug.copy_state", "Copy the state", window.files.copy_state, "Debug", icon="copy",
               tip="What is known at the cursor, as text", enabled_when=lambda: window.has_records,
               keywords=("clipboard",)),
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
