"""Files and data sets: what is uploaded, registered and refused, and that nothing leaves its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curator_calls import COUNT, ROWS, Door

from sfumato.serve.home import Home


def test_a_file_is_kept_under_its_name_and_never_replaced(door: Door) -> None:
    assert door.upload("rides.csv").status == 201
    assert door.upload("rides.csv", b"other").status == 422
    assert (door.server.home.files / "rides.csv").read_bytes() == ROWS.encode()
    assert (door.server.home.files / "rides.csv").stat().st_mode & 0o777 == 0o600
    listed = door.call("GET", "/api/v1/files", "steward").json()["items"]
    assert listed == [{"name": "rides.csv", "bytes": len(ROWS)}]
    assert door.call("DELETE", "/api/v1/files/rides.csv", "steward").status == 204
    assert door.call("DELETE", "/api/v1/files/rides.csv", "steward").status == 404


def test_other_names_are_refused(door: Door) -> None:
    for name in ["rides", "rides.exe", "rides.csv.exe", ".csv", "Rides.csv", "rides.csv%00", "a%2fb.csv"]:
        assert door.upload(name).status == 404, name
    assert list(door.server.home.files.iterdir()) == []


def test_a_file_beyond_the_limit_leaves_nothing(door: Door) -> None:
    parts = [b"x" * 65536] * 17  # of at most 1 MiB
    reply = door.call("PUT", "/api/v1/files/large.csv", "steward", parts=parts)
    assert (reply.status, reply.kind) == (413, "too-large")
    assert list(door.server.home.files.iterdir()) == list(door.server.home.work.iterdir()) == []


def test_a_link_that_somebody_put_there_is_not_followed(door: Door, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("keep")
    (door.server.home.files / "rides.csv").symlink_to(outside)
    assert door.upload("rides.csv").status == 422
    assert door.call("DELETE", "/api/v1/files/rides.csv", "steward").status == 422
    assert outside.read_text() == "keep"


def test_a_data_set_shows_what_was_declared(rides: Door) -> None:
    found = rides.call("GET", "/api/v1/data-sets/rides", "ana").json()
    assert (found["name"], found["protects"], found["deadline"], found["frozen"]) == ("rides", "row", 60.0, False)
    (table,) = found["tables"]
    assert table["name"] == "rides"
    assert table["columns"][0] == {"name": "hour", "role": "other", "type": "integer", "bounds": [0, 23]}
    assert table["columns"][1]["categories"] == ["A", "B"]
    assert list(rides.server.home.files.iterdir()) == []


def test_the_steward_is_told_of_cells_and_nobody_else(door: Door) -> None:
    found = door.register(rows=ROWS + "99,A\n")
    assert found.json()["notes"] == ["column 'hour': 1 of 151 filled cells is outside [0, 23] (first row 151)"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "../rides"}, "name of the data set"),
    ({"name": "rides\0"}, "name of the data set"),
    ({"file": "../../etc/passwd"}, "file's name"),
    ({"file": "other.csv"}, "no uploaded file"),
    ({"shares": {"zoe": "1"}}, "no open account"),
    ({"shares": {"steward": "1"}}, "no open account"),
    ({"shares": {}}, "length >= 1"),
    ({"shares": {"ana": "0"}}, "share is 0"),
    ({"epsilon": "-1"}, "amount"),
    ({"deadline": 0}, ">= 0.1"),
    ({"deadline": 1e9}, "<= 600"),
    ({"schema": "no toml ="}, "not valid TOML"),
    ({"schema": "[" * 5000}, "TOML"),
    ({"schema": '[columns.hour]\nrole = "quasi"\nhierarchy = "/etc/passwd"'}, "file of hierarchies"),
    ({"protect": "person:nobody:1:1"}, "nobody"),
    ({"accountant": "free"}, "Invalid enum"),
]


def test_what_cannot_be_registered_leaves_nothing(door: Door) -> None:
    assert door.upload("rides.csv").status == 201
    for change, words in WRONG:
        reply = door.declare(**change)
        assert (reply.status, reply.kind) == (422, "input"), (change, reply.body)
        assert words in reply.json()["detail"], (change, reply.body)
        assert list(door.server.home.data.iterdir()) == []
        assert [path.name for path in door.server.home.files.iterdir()] == ["rides.csv"]
    assert door.call("GET", "/api/v1/data-sets", "steward").json()["items"] == []


def test_a_name_is_given_once(rides: Door) -> None:
    rides.upload("more.csv", ROWS.encode() + b"1,A\n")
    reply = rides.declare(file="more.csv")
    assert (reply.status, reply.kind) == (409, "conflict")
    assert rides.ask("ana", {"sql": COUNT, "epsilon": "0.1"}).status == 200


def test_the_same_rows_have_one_budget(rides: Door) -> None:
    reply = rides.register("again")
    assert reply.status == 422
    assert "knows these rows already" in reply.json()["detail"]
    assert str(rides.server.home.path) not in reply.json()["detail"]


def test_what_a_killed_server_left_is_tidied_up(rides: Door) -> None:
    home = rides.server.home
    (home.work / "upload-1").write_text("half")
    (home.data / "half").mkdir()
    (home.data / "half" / "half.csv").write_text("half")
    rides.server.close()
    again = Home.open(home.path)
    assert list(again.work.iterdir()) == []
    assert [path.name for path in again.data.iterdir()] == ["rides"]
    assert again.ledger_of("rides").exists()
    again.close()
