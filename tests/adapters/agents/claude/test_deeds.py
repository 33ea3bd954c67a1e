"""What an agent did with its tools, by calls and results as the real client records them."""

from pathlib import Path

from tests.adapters.agents.claude.telling import asks, calls, entry, fails, gives, queues, told

from sm.core.story import Command, Decision, Failure, Todo, TouchedFile, Unfinished

START = 1794772800.0
"""20:00:00 of the records' day."""


def test_files_are_counted_by_what_was_done_to_them(tmp_path: Path) -> None:
    """A call that failed touched nothing."""
    story = told(
        tmp_path,
        calls("Read", "A", file_path="/shop/a.py"),
        gives("text", "A"),
        calls("Edit", "B", file_path="/shop/a.py", old_string="x", new_string="y"),
        gives("updated", "B", 4),
        calls("NotebookEdit", "C", notebook_path="/shop/n.ipynb"),
        gives("updated", "C", 5),
        calls("Write", "D", file_path="/shop/no.py", content="x"),
        fails("<tool_use_error>File has not been read yet.</tool_use_error>", "D"),
        calls("Bash", "E", command="echo 1 > out/x.txt"),
        gives("", "E", 6),
    )

    assert story.files == (
        TouchedFile(path="/shop/a.py", reads=1, changes=1, at=START + 4),
        TouchedFile(path="/shop/n.ipynb", reads=0, changes=1, at=START + 5),
        TouchedFile(path="/shop/out/x.txt", reads=0, changes=1, at=START + 6),
    )


def test_a_command_keeps_its_last_outcome_and_how_often_it_failed(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        calls("Bash", "A", 1, command="make test"),
        fails("Exit code 2\nold\nboom", "A", 3),
        calls("Bash", "B", 4, command="make test"),
        gives("…\n12 passed\n", "B", 9),
    )

    assert story.commands == (
        Command(line="make test", at=START + 9, runs=2, failures=1, status=0, seconds=5.0,
                said="12 passed"),
    )  # fmt: skip
    assert story.failures == (
        Failure(what="make test", error="Exit code 2\nold\nboom", at=START + 3, is_mended=True),
    )


def test_what_was_tried_in_vain_is_told_with_its_last_error(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        calls("Bash", "A", command="make deploy"),
        fails("Exit code 2\nfirst", "A"),
        calls("Bash", "B", command="make deploy"),
        fails("Exit code 2\nsecond", "B", 5),
        calls("Read", "C", file_path="/shop/none.py"),
        fails("File does not exist.", "C", 6),
    )

    assert story.failures == (
        Failure(what="make deploy", error="Exit code 2\nsecond", at=START + 5, tries=2),
        Failure(what="Read /shop/none.py", error="File does not exist.", at=START + 6),
    )
    assert [(c.is_failed, c.status, c.failures) for c in story.commands] == [(True, 2, 2)]


def test_a_command_that_only_says_no_has_not_failed(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        calls("Bash", "A", command="grep x y"),
        fails("Exit code 1", "A"),
        calls("Bash", "B", command="make x"),
        fails("Exit code 1\nboom", "B"),
    )

    assert [f.what for f in story.failures] == ["make x"]
    assert [(c.is_failed, c.status) for c in story.commands] == [(False, 1), (True, 1)]


def test_a_refusal_is_no_failure_and_the_persons_words_are_a_request(tmp_path: Path) -> None:
    error = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell"
        " you how to proceed, the user said:\nuse tabs instead"
    )
    story = told(tmp_path, calls("Bash", command="rm -rf x"), fails(error))

    assert not story.failures
    assert not story.commands
    assert [t.text for t in story.troubles] == ["The person refused or stopped: rm -rf x"]
    assert [r.text for r in story.requests] == ["use tabs instead"]


def test_the_last_todo_list_counts(tmp_path: Path) -> None:
    first = [{"content": "one", "status": "pending", "activeForm": "One"}]
    last = [
        {"content": "one", "status": "completed", "activeForm": "One"},
        {"content": "two", "status": "in_progress", "activeForm": "Two"},
        {"content": "three", "status": "pending", "activeForm": "Three"},
    ]
    story = told(
        tmp_path,
        calls("TodoWrite", "A", todos=first),
        gives("Todos have been modified", "A"),
        calls("TodoWrite", "B", todos=last),
        gives("Todos have been modified", "B"),
        calls("TodoWrite", "C", todos=first),
        fails("No such tool available", "C"),
    )

    assert story.todos == (Todo(text="two", is_begun=True), Todo(text="three"))


def test_tasks_are_followed_from_their_creation(tmp_path: Path) -> None:
    made = {"task": {"id": "1", "subject": "do x"}}
    story = told(
        tmp_path,
        calls("TaskCreate", "A", subject="do x", description="well"),
        gives("Task #1 created successfully: do x", "A", toolUseResult=made),
        calls("TaskCreate", "B", subject="do y"),
        gives("Task #2 created successfully: do y", "B"),
        calls("TaskUpdate", "C", taskId="1", status="in_progress"),
        gives("Updated task #1 status", "C"),
        calls("TaskUpdate", "D", taskId="2", status="completed"),
        gives("Updated task #2 status", "D"),
    )

    assert story.todos == (Todo(text="do x", is_begun=True),)


def test_the_clients_own_reminder_of_the_tasks_counts_most(tmp_path: Path) -> None:
    items = [{"id": "9", "subject": "left over", "status": "pending", "blocks": []}]
    reminder = {"type": "task_reminder", "content": items, "itemCount": 1}
    story = told(tmp_path, asks("go"), entry("attachment", attachment=reminder))

    assert story.todos == (Todo(text="left over"),)


def test_what_runs_in_the_background_is_in_flight_until_its_notice(tmp_path: Path) -> None:
    started = [
        calls("Bash", "A", command="serve", description="Serve", run_in_background=True),
        gives("Command running in background with ID: b1. Output is …", "A", 2),
        calls("Agent", "B", description="Survey", prompt="…", run_in_background=True),
        gives([{"type": "text", "text": "Async agent launched successfully.\nagentId: a9 (x)"}],
              "B", 3),
    ]  # fmt: skip
    server = Unfinished(
        kind="background command", what="serve  (Serve)", at=START + 2, id="b1"
    )  # fmt: skip
    agent = Unfinished(kind="sub-agent", what="Survey", at=START + 3, id="a9")
    notice = (
        "<task-notification>\n<task-id>{}</task-id>\n<status>completed</status></task-notification>"
    )

    assert told(tmp_path, *started).unfinished == (server, agent)
    assert [c.is_background for c in told(tmp_path, *started).commands] == [True]
    ended = queues(notice.format("b1"), commandMode="task-notification")
    assert told(tmp_path, *started, ended).unfinished == (agent,)
    stopped = [calls("TaskStop", "C", task_id="a9"), gives("stopped", "C")]
    assert told(tmp_path, *started, ended, *stopped).unfinished == ()


def test_a_call_without_a_result_is_half_done(tmp_path: Path) -> None:
    story = told(tmp_path, calls("Bash", "A", 4, command="sleep 30"))

    assert story.unfinished == (
        Unfinished(kind="tool call without a result", what="sleep 30", at=START + 4, call="A"),
    )
    assert story.commands == ()


def test_an_approved_plan_is_a_decision(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        calls("ExitPlanMode", "A", plan="1. Split it"),
        gives("User has approved your plan.", "A"),
        calls("ExitPlanMode", "B", plan="2. Drop it"),
        fails("The user doesn't want to proceed with this tool use.", "B"),
    )

    assert story.decisions == (Decision(text="1. Split it", at=START + 3, is_plan=True),)


def test_a_tool_of_another_form_does_no_harm(tmp_path: Path) -> None:
    """Known names with other meanings, results of calls nobody made, broken inputs."""
    story = told(
        tmp_path,
        calls("mcp__x__do", "A", command=["not", "text"], path=7),
        gives("fine", "A"),
        gives("whose?", "Z"),
        calls("TaskUpdate", "B", taskId=None),
        gives("fine", "B"),
        asks("go"),
    )

    assert story.unfinished == ()
    assert [r.text for r in story.requests] == ["go"]


def test_a_result_may_stand_before_its_call(tmp_path: Path) -> None:
    """The client writes records in batches, not always in their order."""
    long = "x" * 9000
    story = told(
        tmp_path,
        fails("Exit code 2\nboom", "A"),
        calls("Bash", "A", command="make test"),
        gives(long, "B"),
        calls("Read", "B", file_path="/shop/a.py"),
    )

    assert [f.what for f in story.failures] == ["make test"]
    assert [f.path for f in story.files] == ["/shop/a.py"]
    assert story.unfinished == ()


def test_what_the_person_answered_is_a_decision(tmp_path: Path) -> None:
    answer = 'User has answered your questions: "Tabs or spaces?"="Tabs".'
    story = told(tmp_path, calls("AskUserQuestion", questions=[]), gives(answer))

    assert [d.text for d in story.decisions] == [answer]
