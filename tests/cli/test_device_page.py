import json


def test_a_plan_becomes_a_folder_that_a_browser_opens(sfumato, folder):
    answer = sfumato("device page plan.toml -o town --submit https://town.example/reports")
    assert answer.code == 0 and "written to town" in answer.out and "http.server" in answer.out
    assert (folder / "town" / "index.html").is_file()
    document = json.loads((folder / "town" / "survey.json").read_text())
    assert document["name"] == "town" and document["submit"] == "https://town.example/reports"


def test_an_address_that_is_none_is_one_line(refused, folder):
    assert "is no address" in refused("device page plan.toml -o town --submit ftp://town.example")
    assert not (folder / "town").exists()
