// Compiles the contracts of the tests, and keeps their bytecode in compiled.json:
//
//     node tests/src/evm/solidity/compile.mjs
//
// The compiler comes from npm. Runs of the tests need neither it nor Node.js.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const COMPILER = "0.8.37";

const folder = dirname(fileURLToPath(import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".sol")).sort();
const texts = files.map((name) => readFileSync(join(folder, name), "utf8"));
const sources = createHash("sha256").update(texts.join("")).digest("hex");

const modules = mkdtempSync(join(tmpdir(), "solc-"));
try {
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    execFileSync("npm", ["install", ...quiet, "--prefix", modules, `solc@${COMPILER}`]);
    const solc = createRequire(join(modules, "package.json"))("solc");
    const input = {
        language: "Solidity",
        sources: Object.fromEntries(files.map((name, index) => [name, { content: texts[index] }])),
        settings: {
            // Every node of the tests has these instructions.
            evmVersion: "paris",
            optimizer: { enabled: true, runs: 1 },
            // The bytecode follows from the instructions alone.
            metadata: { appendCBOR: false, bytecodeHash: "none" },
            outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.deployedBytecode.object"] } },
        },
    };
    const output = JSON.parse(solc.compile(JSON.stringify(input)));
    const errors = (output.errors ?? []).filter((error) => error.severity === "error");
    if (errors.length > 0) {
        throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
    }
    const contracts = {};
    for (const name of files) {
        for (const [contract, { evm }] of Object.entries(output.contracts[name])) {
            if (evm.bytecode.object !== "") {
                contracts[contract] = { creation: evm.bytecode.object, code: evm.deployedBytecode.object };
            }
        }
    }
    const kept = JSON.stringify({ compiler: COMPILER, sources, contracts }, null, 2);
    writeFileSync(join(folder, "compiled.json"), `${kept}\n`);
} finally {
    rmSync(modules, { recursive: true });
}
