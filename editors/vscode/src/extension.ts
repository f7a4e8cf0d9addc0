// The client: starts `listen-fire lsp` and hands it the movement files. Everything else is the server's.

import { commands, window, workspace, type ExtensionContext } from "vscode";
import {
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
} from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("listen-fire.restart", restart),
    workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("listen-fire.path")) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  // A server that never started, or has gone, needs no stopping.
  if (running?.needsStop()) {
    await running.stop();
  }
}

async function start(): Promise<void> {
  const command = workspace.getConfiguration("listen-fire").get<string>("path") || "listen-fire";
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "movement" },
      { scheme: "untitled", language: "movement" },
    ],
  };
  const started = new LanguageClient("listen-fire", "listen-fire", server, options);
  client = started;
  try {
    await started.start();
  } catch (why) {
    client = undefined;
    const reason = why instanceof Error ? why.message : String(why);
    void window.showErrorMessage(
      `listen-fire: the language server \`${command} lsp\` could not be started (${reason}). ` +
        "Install listen-fire, or name its executable in the setting `listen-fire.path`.",
    );
  }
}
