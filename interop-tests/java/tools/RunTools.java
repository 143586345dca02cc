import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.utils.Exit;

/**
 * JAR ...: runs Kafka's command-line tools one after the other, in one JVM.
 *
 * Each line of standard input is "SECONDS STDIN CLASS ARGUMENT ...", each item but the first in base64; the answer to
 * it is "CODE STDOUT STDERR", the last two in base64, with "hangs" instead of a code after that many seconds. Each tool
 * has its classes from the JARs to itself, so it finds its statics as in a JVM of its own.
 */
public final class RunTools {
    private static final long HOOKS_SECONDS = 10;
    private static final Target OUT = new Target();
    private static final Target ERR = new Target();

    private RunTools() {}

    /** Goes where the tool that runs now should write to: what an earlier one left running is not heard. */
    private static final class Target extends OutputStream {
        private final InheritableThreadLocal<ByteArrayOutputStream> written = new InheritableThreadLocal<>();

        @Override
        public void write(int b) {
            ByteArrayOutputStream to = written.get();
            if (to != null) {
                to.write(b);
            }
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            ByteArrayOutputStream to = written.get();
            if (to != null) {
                to.write(bytes, offset, length);
            }
        }
    }

    /** One run of one tool; a new thread for each, which its own threads inherit from. */
    private static final class Run extends Thread {
        private static final InheritableThreadLocal<Run> CURRENT = new InheritableThreadLocal<>();

        private final AtomicBoolean ending = new AtomicBoolean();
        private final CompletableFuture<String> answer = new CompletableFuture<>();
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final ByteArrayOutputStream err = new ByteArrayOutputStream();
        private final List<Runnable> hooks = new ArrayList<>();
        private final URL[] jars;
        private final String mainClass;
        private final String[] arguments;

        Run(URL[] jars, String mainClass, String[] arguments) {
            this.jars = jars;
            this.mainClass = mainClass;
            this.arguments = arguments;
            setDaemon(true);
        }

        @Override
        public void run() {
            CURRENT.set(this);
            OUT.written.set(out);
            ERR.written.set(err);
            try (URLClassLoader loader = new URLClassLoader(jars)) {
                setContextClassLoader(loader);
                loader.loadClass(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
                end(0);
            } catch (InvocationTargetException e) {
                if (!ending.get()) {
                    e.getCause().printStackTrace();
                    end(1);
                }
            } catch (Throwable e) {
                e.printStackTrace();
                end(-1);
            }
        }

        /** What the end of a JVM does; only the first call counts. */
        void end(int value) {
            if (ending.getAndSet(true)) {
                return;
            }
            List<Thread> running = new ArrayList<>();
            for (Runnable hook : hooks) {
                Thread thread = new Thread(hook);
                thread.setDaemon(true);
                thread.start();
                running.add(thread);
            }
            for (Thread thread : running) {
                try {
                    thread.join(TimeUnit.SECONDS.toMillis(HOOKS_SECONDS));
                } catch (InterruptedException e) {
                    break;
                }
            }
            answer.complete(said(String.valueOf(value)));
        }

        private String said(String ended) {
            Base64.Encoder encoder = Base64.getEncoder();
            return ended + " " + encoder.encodeToString(out.toByteArray()) + ". "
                + encoder.encodeToString(err.toByteArray()) + ".";
        }

        String answer(long seconds) throws Exception {
            try {
                return answer.get(seconds, TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                for (StackTraceElement frame : getStackTrace()) {
                    err.write(("\n\tat " + frame).getBytes());
                }
                interrupt();
                return said("hangs");
            }
        }
    }

    private static final class Ended extends Error {
        Ended() {
            super("the tool has called exit", null, false, false);
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        URL[] jars = new URL[args.length];
        for (int i = 0; i < args.length; i++) {
            jars[i] = Path.of(args[i]).toUri().toURL();
        }
        System.setOut(new PrintStream(OUT, true));
        System.setErr(new PrintStream(ERR, true));
        Exit.Procedure end = (code, message) -> {
            Run.CURRENT.get().end(code);
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        Exit.setShutdownHookAdder((name, hook) -> Run.CURRENT.get().hooks.add(hook));
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] items = lines.nextLine().split(" ");
            List<String> texts = new ArrayList<>();
            for (int i = 1; i < items.length; i++) {
                texts.add(new String(Base64.getDecoder().decode(items[i].substring(0, items[i].length() - 1))));
            }
            System.setIn(new ByteArrayInputStream(texts.get(0).getBytes()));
            Run run = new Run(jars, texts.get(1), texts.subList(2, texts.size()).toArray(new String[0]));
            run.start();
            answers.println(run.answer(Long.parseLong(items[0])));
            answers.flush();
        }
    }
}
