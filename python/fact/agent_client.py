"""Asks a model of a provider's API: the prompt on standard input, one JSON object on standard output.

    python -m fact.agent_client openai MODEL        any server with OpenAI's API: OPENAI_BASE_URL
    python -m fact.agent_client anthropic MODEL

The object has "text", "tokens_in" and "tokens_out", or "error". Keys come from the environment
(OPENAI_API_KEY, ANTHROPIC_API_KEY) and go nowhere else. The caller decides what to ask and what to
do with an answer.
"""

import json
import os
import sys

LONGEST = 8192  # tokens of an answer
PATIENCE = 240.0  # seconds for one request, below what the caller waits
RETRIES = 4  # by the SDKs, after rate limits, failures of the server and broken connections


def of_openai(model, prompt):
    import openai

    # Local servers often need no key, but the SDK requires one.
    key = os.environ.get("OPENAI_API_KEY") or ("none" if os.environ.get("OPENAI_BASE_URL") else None)
    client = openai.OpenAI(api_key=key, timeout=PATIENCE, max_retries=RETRIES)
    stream = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": prompt}],
        stream=True,
        stream_options={"include_usage": True},
    )
    text, refusal, usage = [], [], None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            text.append(choice.delta.content or "")
            refusal.append(getattr(choice.delta, "refusal", None) or "")
    if not "".join(text) and "".join(refusal):
        return {"error": "the model refused: " + "".join(refusal)}
    return answer("".join(text), usage and usage.prompt_tokens, usage and usage.completion_tokens)


def of_anthropic(model, prompt):
    import anthropic

    client = anthropic.Anthropic(timeout=PATIENCE, max_retries=RETRIES)
    with client.messages.stream(
        model=model, max_tokens=LONGEST, messages=[{"role": "user", "content": prompt}]
    ) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    if message.stop_reason == "refusal":
        return {"error": "the model refused" + (": " + text if text else "")}
    return answer(text, message.usage.input_tokens, message.usage.output_tokens)


def answer(text, tokens_in, tokens_out):
    if not text:
        return {"error": "the model answered nothing"}
    counted = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    return {"text": text, **{name: count for name, count in counted.items() if count is not None}}


PROVIDERS = {"openai": of_openai, "anthropic": of_anthropic}


def ask(provider, model, prompt):
    try:
        return PROVIDERS[provider](model, prompt)
    except ImportError:
        return {"error": f"the package {provider} is not installed: pip install {provider}"}
    except Exception as error:  # anything that an SDK raises means that there is no answer
        return {"error": f"{type(error).__name__}: {error}"}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in PROVIDERS:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(ask(*arguments, sys.stdin.read())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
