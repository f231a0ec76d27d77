"""The keywords that type checkers know are those that the functions accept."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("keywords_tool", ROOT / "tools" / "keywords.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_typed_keywords_are_current() -> None:
    """If this fails, run `python tools/keywords.py`."""
    keywords = tool()
    assert keywords.FILE.read_text(encoding="utf-8") == keywords.content()


def test_no_public_function_hides_its_options_from_type_checkers() -> None:
    """`**options: Any` stands only in the definition behind overloads, which type checkers do not see."""
    hidden = []
    for path in sorted((ROOT / "qkv").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
        overloaded = {each.name for each in functions if "overload" in decorators(each)}
        for each in functions:
            visible = "overload" in decorators(each) or each.name not in overloaded
            if visible and "with_options" in decorators(each) | decorators_of(functions, each.name):
                rest = each.args.kwarg
                if rest is not None and rest.annotation is not None and ast.unparse(rest.annotation) == "Any":
                    hidden.append(f"{path.name}: {each.name}")
    assert hidden == []


def decorators_of(functions: list[ast.FunctionDef], name: str) -> set[str]:
    return {decorator for each in functions if each.name == name for decorator in decorators(each)}


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(each).split("(")[0] for each in function.decorator_list}
