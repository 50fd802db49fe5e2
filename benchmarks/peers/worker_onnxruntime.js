// Worker of compare.py: ONNX Runtime. Speaks as worker.py tells; compare.py has written a model for each variant beside
// the inputs (onnx_models.py), whose inputs' names are those of the files.
//
//   node worker_onnxruntime.js THREADS [FOLDER_WITH_NODE_MODULES]
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { createRequire } = require("module");

const threads = Number(process.argv[2]);
const folder = process.argv[3] || __dirname;

function say(answer) {
    process.stdout.write(JSON.stringify(answer) + "\n");
}

function load() {
    try {
        const from = createRequire(path.join(path.resolve(folder), "worker.js"));
        const runtime = from("onnxruntime-node");
        const version = runtime.env.versions.node || runtime.env.versions.common;
        return { runtime, version };
    } catch (error) {
        say({ absent: "onnxruntime-node: " + String(error.message).split("\n")[0] });
        process.exit(0);
    }
}

const { runtime, version } = load();
const calls = new Map();

function readFloats(name) {
    const bytes = fs.readFileSync(name);
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

async function prepareVariant(model, where) {
    const session = await runtime.InferenceSession.create(path.join(where, model.file), {
        executionProviders: ["cpu"],
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
        logSeverityLevel: 3,
    });
    const feeds = {};
    for (const [name, input] of Object.entries(model.inputs))
        feeds[name] = new runtime.Tensor("float32", readFloats(path.join(where, input.file)), input.shape);
    const output = new Float32Array(model.output.shape.reduce((product, size) => product * size, 1));
    // Memory for the output is had once, as in ours.
    const fetches = { output: new runtime.Tensor("float32", output, model.output.shape) };
    await session.run(feeds, fetches);
    return { session, feeds, fetches, output };
}

async function answer(request) {
    if (request.do === "prepare") {
        for (const call of calls.values())
            await call.session.release();
        calls.clear();
        for (const model of request.case.models || [])
            calls.set(model.variant, await prepareVariant(model, request.folder));
        return { variants: [...calls.keys()] };
    }
    const call = calls.get(request.variant);
    if (request.do === "write") {
        const results = await call.session.run(call.feeds, call.fetches);
        const data = results.output.data;
        fs.writeFileSync(request.path, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
        return {};
    }
    await call.session.run(call.feeds, call.fetches);
    const seconds = [];
    for (let i = 0; i < request.calls; i++) {
        const start = process.hrtime.bigint();
        await call.session.run(call.feeds, call.fetches);
        seconds.push(Number(process.hrtime.bigint() - start) * 1e-9);
    }
    return { seconds };
}

async function main() {
    say({ name: "ONNX Runtime", version });
    for await (const line of readline.createInterface({ input: process.stdin }))
        say(await answer(JSON.parse(line)));
}

main().catch((error) => {
    process.stderr.write(String(error.stack) + "\n");
    process.exit(1);
});
