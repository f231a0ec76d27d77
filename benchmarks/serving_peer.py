"""What people write who serve a model with CTranslate2: starlette, uvicorn, and a thread pool. See serving.py.

    python benchmarks/serving_peer.py CTRANSLATE2_MODEL BUNDLE BEAM WORKERS PORT

CTranslate2 has its own queue and workers, so requests run at the same time. An array is one batch.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ctranslate2
import uvicorn
from end_to_end_peer import open_tokenizer, translate
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def main() -> None:
    model, bundle, *numbers = sys.argv[1:]
    beam, workers, port = map(int, numbers)
    tokenizer = open_tokenizer(Path(bundle))
    engine = ctranslate2.Translator(model, compute_type="int8", inter_threads=workers, intra_threads=1)
    pool = ThreadPoolExecutor(64)

    async def answer(request: Request) -> Response:
        import asyncio

        given = (await request.json())["q"]
        lines = [given] if isinstance(given, str) else given
        work = asyncio.get_running_loop().run_in_executor(pool, translate, engine, tokenizer, lines, beam)
        found = await work
        return JSONResponse({"translatedText": found[0] if isinstance(given, str) else found})

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    app = Starlette(routes=[Route("/translate", answer, methods=["POST"]), Route("/health", ready)])
    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    main()
